// SPDX-License-Identifier: GPL-2.0
/*
 * examples/codel.yaml in ns-3: one CUBIC flow with ECN, 20 Mb/s, 100 ms, CoDel.
 *
 * Prints the bytes that the application has received. As in the lab the
 * segments carry 1448 bytes, the initial window is 10 segments, every second
 * segment is acknowledged, and buffers are never the limit.
 */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    double seconds = 90;
    CommandLine command(__FILE__);
    command.AddValue("seconds", "length of the experiment", seconds);
    command.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::CoDelQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::CoDelQueueDisc::MaxSize", StringValue("1000p"));

    NodeContainer nodes; // sender, two routers, receiver
    nodes.Create(4);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    Ipv4Address receiver;
    for (uint32_t hop = 0; hop < 3; ++hop)
    {
        PointToPointHelper link;
        bool bottleneck = hop == 1;
        link.SetDeviceAttribute("DataRate", StringValue(bottleneck ? "20Mbps" : "10Gbps"));
        link.SetChannelAttribute("Delay", StringValue(bottleneck ? "50ms" : "0ms"));
        // What waits does so in the queue disc.
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        NetDeviceContainer ends = link.Install(nodes.Get(hop), nodes.Get(hop + 1));
        if (bottleneck)
        {
            TrafficControlHelper queue;
            queue.SetRootQueueDisc("ns3::CoDelQueueDisc");
            queue.Install(ends);
        }
        receiver = address.Assign(ends).GetAddress(1);
        address.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5001;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(nodes.Get(3));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, port));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(1448));
    bulk.Install(nodes.Get(0)).Start(Seconds(0));

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx() << std::endl;
    Simulator::Destroy();
    return 0;
}
